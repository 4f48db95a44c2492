import re

import sample_programs

from fluidcore import layers
from fluidcore.picture.escaping import quoted


def nodes_of(text: str) -> list[str]:
    return re.findall(r'^\s*"(\d+\.\d+)" \[', text, re.MULTILINE)


def test_every_operator_is_a_node_and_every_part_a_cluster():
    program = sample_programs.perceptron()
    text = program.to_dot()
    assert text.startswith("digraph program {\n")
    assert text.endswith("}\n")
    assert nodes_of(text) == [f"0.{i}" for i in range(len(program.global_block().ops))]
    clusters = re.findall(r'subgraph "cluster_(\w+)"', text)
    assert clusters == ["forward", "backward", "optimizer"]
    assert text.count("{") == text.count("}")


def test_a_node_names_type_attributes_and_sizes_of_parameters():
    text = sample_programs.perceptron().to_dot()
    assert '"0.0" [label="mul\\nw [3,4]"' in text
    assert '"0.1" [label="elementwise_add\\naxis=1\\nb [4]"' in text


def test_an_edge_has_dtype_and_shape():
    text = sample_programs.perceptron().to_dot()
    assert '"0:x" -> "0.0" [label="float32 [?,3]", tooltip="x"]' in text
    assert '"0.0" -> "0.1" [label="float32 [?,4]", tooltip="fc_0.tmp_0"]' in text


def test_a_forward_program_has_no_clusters():
    layers.tanh(layers.data("x", [3])).block.program.to_dot()
    assert "cluster" not in layers.data("y", [3]).block.program.to_dot()


def test_a_block_is_a_cluster_with_the_operator_that_runs_it():
    program = sample_programs.loop()
    text = program.to_dot()
    number = [op.type for op in program.global_block().ops].index("while")
    assert f'subgraph "cluster_0.{number}" {{' in text
    assert len(nodes_of(text)) == sum(len(block.ops) for block in program.blocks)


def test_names_of_strangers_stay_inside_their_quotes():
    text = sample_programs.hostile().to_dot()
    bare = re.sub(r'"(\\.|[^"\\])*"', "", text)
    assert "script" not in bare
    assert re.fullmatch(r"[\w\s{}\[\]=,;#>-]*", bare)


def test_quotes_and_backslashes_are_escaped():
    assert quoted('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert quoted("\x00\ud800") == '"\ufffd\ufffd"'

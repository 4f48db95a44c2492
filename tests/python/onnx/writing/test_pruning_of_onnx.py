from fluidcore.onnx.writing.graph import Graph, Value
from fluidcore.onnx.writing.pruning import remove_unread


def types(graph: Graph) -> list[str]:
    return [node.op_type for node in graph.nodes]


def test_a_node_that_serves_no_output_is_removed() -> None:
    graph = Graph()
    x = Value("float32", (2,), "x")
    (hidden,) = graph.add("Relu", [x])
    (unread,) = graph.add("Exp", [hidden])
    graph.add("Tanh", [unread])
    graph.outputs = graph.add("Sigmoid", [hidden])
    remove_unread(graph)
    assert types(graph) == ["Relu", "Sigmoid"]


def test_what_a_graph_inside_reads_stays() -> None:
    graph, inner = Graph(), Graph()
    condition, x = Value("bool", (), "condition"), Value("float32", (2,), "x")
    (outer,) = graph.add("Relu", [x])
    graph.add("Exp", [x])
    inner.add("Exp", [outer])
    inner.outputs = inner.add("Tanh", [outer])
    graph.outputs = [Value("float32")]
    branches = {"then_branch": inner, "else_branch": inner}
    graph.append("If", [condition], graph.outputs, **branches)
    remove_unread(graph)
    assert types(graph) == ["Relu", "If"]
    assert types(inner) == ["Tanh"]

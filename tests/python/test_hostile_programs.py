"""Loaded programs that were made to do harm: every use is right or a clear error."""

import copy
import json
import random

import numpy as np
import pytest
from looped_models import FEED, MODELS, loop, loop_with_branches

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.listing import operator_lines

MUTATIONS = 60  # of each model, with and without gradients
TARGET = "target"


def saved(model, gradients=False):
    """A program whose result is called "target", as the object in its file."""
    main = fluid.Program()
    with fluid.unique_name.guard(), fluid.program_guard(main, fluid.Program()):
        layers.mean(model()).block.rename_var("mean_0.tmp_0", TARGET)
        if gradients:
            loss = main.global_block().var(TARGET)
            fluid.append_backward(loss, callbacks=[fluid.error_clip_callback])
    data = json.loads(main.serialize_to_string())
    for op in operators(data):
        if "max_steps" in op["attrs"]:
            op["attrs"]["max_steps"] = 5
    return data


def operators(data):
    return [op for block in data["blocks"] for op in block["ops"]]


def runners(data):
    return [op for op in operators(data) if "sub_block" in op["attrs"]]


def parse(data):
    return fluid.Program.parse_from_string(json.dumps(data))


def print_all(program):
    str(program)
    operator_lines(program.global_block().ops, shapes=True)


def append_backward(program):
    with fluid.program_guard(program, fluid.Program()):
        loss = program.global_block().var(TARGET)
        fluid.append_backward(loss, callbacks=[fluid.error_clip_callback])


def run(program):
    scope = fluid.Scope()
    scope.var("w").get_tensor().set(np.full(3, 0.5, np.float32))
    scope.var("flag").get_tensor().set(np.array([True]))
    feed = {name: FEED[name] for name in FEED if program.global_block().has_var(name)}
    fluid.Executor().run(program, feed=feed, fetch_list=[TARGET], scope=scope)


USES = [
    print_all,
    fluid.Program.clone,
    lambda program: program.clone(for_test=True),
    lambda program: program.prune([TARGET]),
    lambda program: run(program.prune([TARGET])),
    run,
]


def errors_of_all_uses(data, uses=(*USES, append_backward)):
    """What the uses say; anything but fluidcore's own errors goes through."""
    try:
        program = parse(data)
    except core.InvalidArgument as error:
        return [error]
    errors = []
    for use in uses:
        try:
            use(program.clone())
        except core.Error as error:
            errors.append(error)
    return errors


# Blocks that do not fit together, one by one


@pytest.mark.parametrize("inside", [False, True])
def test_a_block_that_runs_itself(inside):
    data = saved(loop_with_branches)
    op = runners(data)[1 if inside else 0]
    op["attrs"]["sub_block"]["block"] = 1 if inside else 0
    errors = errors_of_all_uses(data)
    assert len(errors) == 4
    for error in errors:
        assert "sub_block must be a block inside block" in str(error)
        assert "itself" in str(error)


def test_a_block_that_runs_the_one_around_it():
    data = saved(loop_with_branches)
    runners(data)[1]["attrs"]["sub_block"]["block"] = 0
    errors = errors_of_all_uses(data)
    assert len(errors) == 4
    for error in errors:
        assert "got block 0, the outermost" in str(error)


@pytest.mark.parametrize("index", [-1, 4, 2**40, -(2**63)])
def test_blocks_that_do_not_exist(index):
    data = saved(loop_with_branches)
    places = {
        "ops[5].attrs.sub_block.block": runners(data)[0]["attrs"]["sub_block"],
        "forward_block": data["blocks"][1],
        "parent": data["blocks"][2],
    }
    for name, place in places.items():
        field = name.rpartition(".")[2]
        good, place[field] = place[field], index
        if (name, index) != ("forward_block", -1):
            with pytest.raises(core.InvalidArgument, match=r"program file: blocks\[.*must be in"):
                parse(data)
        place[field] = good


@pytest.mark.parametrize("parents", [{1: 1}, {1: 2, 2: 1}, {1: 3}, {2: 3}])
def test_parents_in_a_circle(parents):
    data = saved(loop_with_branches)
    for block, parent in parents.items():
        data["blocks"][block]["parent"] = parent
    with pytest.raises(core.InvalidArgument, match=r"program file: blocks\[[12]\].parent: must be"):
        parse(data)


def test_forward_blocks_in_a_circle():
    for forward in ({1: 1}, {1: 2, 2: 1}, {1: 0}, {0: 1}, {0: 0, 1: 1, 2: 2, 3: 3}):
        data = saved(loop_with_branches)
        for block, other in forward.items():
            data["blocks"][block]["forward_block"] = other
        errors_of_all_uses(data)


def test_one_block_that_two_operators_run():
    data = saved(loop_with_branches)
    runners(data)[2]["attrs"]["sub_block"] = runners(data)[1]["attrs"]["sub_block"]
    errors = errors_of_all_uses(data)
    assert len(errors) == 4
    for error in errors:
        assert "must be run by one operator only" in str(error)


def nested(depth, twice=False):
    """Blocks in each other, each run by an operator, or two, of the one around it."""
    data = saved(loop)
    branch = {
        "type": "conditional_block",
        "inputs": {"X": ["flag"]},
        "outputs": {},
        "attrs": {"is_scalar_condition": True},
    }
    flag = copy.deepcopy(data["blocks"][0]["vars"][0])
    flag |= {"name": "flag", "dtype": "bool", "shape": [1], "persistable": True}
    flag |= {"is_data": False}
    data["blocks"][0]["vars"].append(flag)
    data["blocks"] = data["blocks"][:1]
    data["blocks"][0]["ops"] = data["blocks"][0]["ops"][:1]
    for level in range(depth):
        op = branch | {"attrs": branch["attrs"] | {"sub_block": {"block": level + 1}}}
        data["blocks"][level]["ops"] += [op, op] if twice else [op]
        data["blocks"].append({"parent": level, "forward_block": -1, "vars": [], "ops": []})
    write = {"type": "scale", "inputs": {"X": ["w"]}, "outputs": {"Out": [TARGET]}, "attrs": {}}
    data["blocks"][depth]["ops"].append(write)
    return data


@pytest.mark.parametrize("depth", [60, 70, 5000])
@pytest.mark.parametrize("twice", [False, True])
def test_very_deep_nesting_is_right_or_refused(depth, twice):
    data = nested(depth, twice)
    errors = errors_of_all_uses(data)
    if depth > 64 or twice:
        assert len(errors) >= 3
        assert all("at most 64 deep" in str(e) or "one operator only" in str(e) for e in errors)


def test_names_in_attributes_that_mean_nothing():
    data = saved(MODELS[-1])
    (op,) = runners(data)
    for attr in ("ex_states", "states", "step_inputs", "step_outputs"):
        for names in ([], ["nothing"], ["w"], ["@EMPTY@"], ["w"] * 3):
            damaged = copy.deepcopy(data)
            (twin,) = runners(damaged)
            twin["attrs"][attr] = {"strings": names}
            errors_of_all_uses(damaged)
    op["attrs"]["states"] = {"ints": [1]}
    assert errors_of_all_uses(data, USES)


def test_a_loop_without_end_is_stopped():
    data = saved(loop)
    (op,) = runners(data)
    op["attrs"]["max_steps"] = 2
    with pytest.raises(core.InvalidArgument, match="must become False within max_steps"):
        run(parse(data))


# Any mutation


def mutate(data, rng):
    """Changes one thing, at random."""
    blocks = data["blocks"]
    block = rng.choice(blocks)
    ops = operators(data)
    op = rng.choice(ops)
    names = sorted({var["name"] for some in blocks for var in some["vars"]})
    kind = rng.randrange(12)
    if kind == 0 and runners(data):
        rng.choice(runners(data))["attrs"]["sub_block"]["block"] = rng.randrange(len(blocks))
    elif kind == 1:
        index = rng.randrange(1, len(blocks))
        blocks[index]["parent"] = rng.randrange(index)
    elif kind == 2:
        block["forward_block"] = rng.randrange(-1, len(blocks))
    elif kind == 3 and block["ops"]:
        block["ops"].pop(rng.randrange(len(block["ops"])))
    elif kind == 4 and block["vars"]:
        block["vars"].pop(rng.randrange(len(block["vars"])))
    elif kind == 5:
        op["type"] = rng.choice(ops)["type"]
    elif kind in (6, 7):
        slots = rng.choice([op["inputs"], op["outputs"]])
        if slots:
            slot = rng.choice(sorted(slots))
            slots[slot] = rng.choice([[], [rng.choice(names)], ["@EMPTY@"], slots[slot] * 2])
    elif kind == 8:
        op["attrs"] = rng.choice(ops)["attrs"]
    elif kind == 9:
        for attr in (attr for some in ops for attr in some["attrs"].values()):
            if isinstance(attr, dict) and "strings" in attr:
                attr["strings"] = rng.choices([*attr["strings"], *names[:2]], k=rng.randrange(3))
    elif kind == 10 and block["vars"]:
        var = rng.choice(block["vars"])
        var["type"] = rng.choice(["lod_tensor", "lod_tensor_array", "selected_rows"])
        var["shape"] = rng.choice([[], [0], [-1, 3], [4, 3], [1]])
        var["dtype"] = rng.choice(["float32", "int64", "bool"])
    else:
        block["ops"].insert(rng.randrange(len(block["ops"]) + 1), copy.deepcopy(op))


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_every_mutation_is_right_or_a_clear_error(model, gradients):
    data = saved(model, gradients)
    assert errors_of_all_uses(data) == []
    rng = random.Random(f"{model.__name__} {gradients}")
    for _ in range(MUTATIONS):
        damaged = copy.deepcopy(data)
        for _ in range(rng.randrange(1, 4)):
            mutate(damaged, rng)
        try:
            errors_of_all_uses(damaged)
        except Exception as error:
            error.add_note(json.dumps(damaged))
            raise

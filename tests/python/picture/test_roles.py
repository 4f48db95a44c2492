import fluidcore as fluid
from fluidcore import layers
from fluidcore.picture.roles import Role, roles


def parts(program: fluid.Program) -> list[tuple[str, str]]:
    block = program.global_block()
    return [(op.type, role.value) for op, role in zip(block.ops, roles(block.desc), strict=True)]


def test_a_program_without_gradients_is_forward():
    layers.mean(layers.fc(layers.data("x", [3]), 2))
    assert {role for _, role in parts(fluid.default_main_program())} == {"forward"}


def test_minimize_adds_backward_and_updates():
    loss = layers.mean(layers.fc(layers.data("x", [3]), 2, bias_attr=False))
    fluid.optimizer.SGD(0.1).minimize(loss)
    assert parts(loss.block.program) == [
        ("mul", "forward"),
        ("mean", "forward"),
        ("fill_constant", "backward"),
        ("mean_grad", "backward"),
        ("mul_grad", "backward"),
        ("sgd", "optimizer"),
    ]


def test_what_keeps_the_state_of_an_optimizer_is_an_update():
    loss = layers.mean(layers.fc(layers.data("x", [3]), 2, bias_attr=False))
    fluid.optimizer.Adam(0.1).minimize(loss)
    assert parts(loss.block.program)[-3:] == [
        ("adam", "optimizer"),
        ("scale", "optimizer"),
        ("scale", "optimizer"),
    ]


def test_what_clips_the_gradients_is_backward():
    fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(1.0))
    loss = layers.mean(layers.fc(layers.data("x", [3]), 2))
    fluid.optimizer.SGD(0.1).minimize(loss)
    found = parts(loss.block.program)
    after = [role for _, role in found[found.index(("mul_grad", "backward")) :]]
    assert after == sorted(after)  # backward, then optimizer
    assert [op for op, role in found if role == "optimizer"] == ["sgd", "sgd"]


def test_values_that_are_calculated_again_are_backward():
    hidden = layers.tanh(layers.fc(layers.data("x", [3]), 2))
    loss = layers.mean(layers.square(layers.tanh(layers.tanh(hidden))))
    fluid.append_backward(loss, checkpoints=[hidden])
    assert {role for _, role in parts(loss.block.program)} == {"forward", "backward"}


def test_roles_print_as_their_names():
    assert [str(role) for role in Role] == ["forward", "backward", "optimizer"]

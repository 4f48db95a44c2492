import numpy as np
import pytest

import fluidcore as fluid
from tests.python.practical.book import samples

DICT_SIZE = 30
EMBED_SIZE = 16
HIDDEN_SIZE = 64
N = 5
NAMES = ["firstw", "secondw", "thirdw", "forthw"]


def train(is_sparse, is_parallel, save_dirname):
    def network(words):
        embeds = [
            fluid.layers.embedding(
                input=word,
                size=[DICT_SIZE, EMBED_SIZE],
                dtype="float32",
                is_sparse=is_sparse,
                param_attr="shared_w",
            )
            for word in words[:4]
        ]
        concat_embed = fluid.layers.concat(input=embeds, axis=1)
        hidden1 = fluid.layers.fc(input=concat_embed, size=HIDDEN_SIZE, act="sigmoid")
        predict_word = fluid.layers.fc(input=hidden1, size=DICT_SIZE, act="softmax")
        cost = fluid.layers.cross_entropy(input=predict_word, label=words[4])
        return fluid.layers.mean(cost), predict_word

    words = [fluid.layers.data(name=n, shape=[1], dtype="int64") for n in [*NAMES, "nextw"]]
    if is_parallel:
        places = fluid.layers.get_places()
        pd = fluid.layers.ParallelDo(places)
        with pd.do():
            avg_cost, predict_word = network(list(map(pd.read_input, words)))
            pd.write_output(avg_cost)
        avg_cost = fluid.layers.mean(pd())
    else:
        avg_cost, predict_word = network(words)

    sgd_optimizer = fluid.optimizer.SGD(learning_rate=2.0)
    sgd_optimizer.minimize(avg_cost)
    train_reader = fluid.batch(samples.imikolov, 32)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(feed_list=words, place=place)
    exe.run(fluid.default_startup_program())
    for _ in range(200):
        for data in train_reader():
            avg_cost_np = exe.run(
                fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost]
            )
            if avg_cost_np[0][0] < 0.5:
                fluid.io.save_inference_model(save_dirname, NAMES, [predict_word], exe)
                return True
    return False


def create_random_lodtensor(lod, place, low, high):
    data = np.random.randint(low, high, [lod[-1], 1]).astype("int64")
    res = fluid.LoDTensor()
    res.set(data, place)
    res.set_lod([lod])
    return res


def infer(save_dirname):
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    with fluid.scope_guard(fluid.core.Scope()):
        [inference_program, feed_target_names, fetch_targets] = fluid.io.load_inference_model(
            save_dirname, exe
        )
        lod = [0, 6]
        words = [create_random_lodtensor(lod, place, 0, DICT_SIZE - 1) for _ in NAMES]
        assert feed_target_names == NAMES
        return exe.run(
            inference_program,
            feed=dict(zip(feed_target_names, words, strict=True)),
            fetch_list=fetch_targets,
            return_numpy=False,
        )


@pytest.mark.parametrize("is_parallel", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_next_word_is_learnt(is_sparse, is_parallel, tmp_path):
    with (
        fluid.scope_guard(fluid.core.Scope()),
        fluid.program_guard(fluid.Program(), fluid.Program()),
    ):
        assert train(is_sparse, is_parallel, str(tmp_path))
        results = infer(str(tmp_path))
        assert results[0].lod() == []
        assert np.array(results[0]).shape == (6, DICT_SIZE)

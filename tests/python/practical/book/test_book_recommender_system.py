import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from tests.python.practical.book import samples

IS_SPARSE = True


def get_usr_combined_features():
    uid = layers.data(name="user_id", shape=[1], dtype="int64")
    usr_emb = layers.embedding(
        input=uid, dtype="float32", size=[40, 32], param_attr="user_table", is_sparse=IS_SPARSE
    )
    usr_fc = layers.fc(input=usr_emb, size=32)
    gender = layers.data(name="gender_id", shape=[1], dtype="int64")
    usr_gender_emb = layers.embedding(
        input=gender, size=[2, 16], param_attr="gender_table", is_sparse=IS_SPARSE
    )
    usr_gender_fc = layers.fc(input=usr_gender_emb, size=16)
    age = layers.data(name="age_id", shape=[1], dtype="int64")
    usr_age_emb = layers.embedding(
        input=age, size=[7, 16], is_sparse=IS_SPARSE, param_attr="age_table"
    )
    usr_age_fc = layers.fc(input=usr_age_emb, size=16)
    job = layers.data(name="job_id", shape=[1], dtype="int64")
    usr_job_emb = layers.embedding(
        input=job, size=[21, 16], param_attr="job_table", is_sparse=IS_SPARSE
    )
    usr_job_fc = layers.fc(input=usr_job_emb, size=16)
    concat_embed = layers.concat(input=[usr_fc, usr_gender_fc, usr_age_fc, usr_job_fc], axis=1)
    return layers.fc(input=concat_embed, size=200, act="tanh")


def get_mov_combined_features():
    mov_id = layers.data(name="movie_id", shape=[1], dtype="int64")
    mov_emb = layers.embedding(
        input=mov_id, dtype="float32", size=[50, 32], param_attr="movie_table", is_sparse=IS_SPARSE
    )
    mov_fc = layers.fc(input=mov_emb, size=32)
    concat_embed = layers.concat(input=[mov_fc], axis=1)
    return layers.fc(input=concat_embed, size=200, act="tanh")


def model():
    usr_combined_features = get_usr_combined_features()
    mov_combined_features = get_mov_combined_features()
    inference = layers.cos_sim(X=usr_combined_features, Y=mov_combined_features)
    scale_infer = layers.scale(x=inference, scale=5.0)
    label = layers.data(name="score", shape=[1], dtype="float32")
    square_cost = layers.square_error_cost(input=scale_infer, label=label)
    return scale_infer, layers.mean(square_cost)


def test_scores_are_predicted_without_the_titles(tmp_path):
    with (
        fluid.scope_guard(fluid.core.Scope()),
        fluid.program_guard(fluid.Program(), fluid.Program()),
    ):
        scale_infer, avg_cost = model()
        test_program = fluid.default_main_program().clone(for_test=True)
        sgd_optimizer = fluid.optimizer.SGDOptimizer(learning_rate=0.2)
        sgd_optimizer.minimize(avg_cost)
        place = fluid.CPUPlace()
        exe = fluid.Executor(place)
        exe.run(fluid.default_startup_program())
        train_reader = fluid.batch(
            fluid.reader.shuffle(samples.movielens, buf_size=8192), batch_size=64
        )
        feed_order = ["user_id", "gender_id", "age_id", "job_id", "movie_id", "score"]
        feed_list = [
            fluid.default_main_program().global_block().var(var_name) for var_name in feed_order
        ]
        feeder = fluid.DataFeeder(feed_list, place)
        costs = []
        for _ in range(20):
            for data in train_reader():
                outs = exe.run(
                    program=fluid.default_main_program(),
                    feed=feeder.feed(data),
                    fetch_list=[avg_cost],
                )
                costs.append(float(outs[0][0]))
        assert costs[-1] < 0.7 * costs[0]
        out = exe.run(program=test_program, feed=feeder.feed(data), fetch_list=[avg_cost])
        assert np.isfinite(out[0]).all()
        fluid.io.save_inference_model(str(tmp_path), feed_order[:5], [scale_infer], exe)


def test_a_title_is_refused_as_it_is_a_sequence():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        title = layers.data(name="movie_title", shape=[1], dtype="int64", lod_level=1)
        embedding = layers.embedding(input=title, size=[100, 32], is_sparse=IS_SPARSE)
        with pytest.raises(AttributeError) as refused:
            fluid.nets.sequence_conv_pool(
                input=embedding, num_filters=32, filter_size=3, act="tanh", pool_type="sum"
            )
    assert str(refused.value) == (
        "'sequence_conv_pool' works on nested sequences, which there are not; pad sequences to one "
        "length, feed their lengths beside them and mask what is behind"
    )

"""Metrics over many batches, in plain Python: `update` with each batch, `eval`, `reset`.

Example:
    accuracy = fluid.metrics.Accuracy()
    for batch in batches:
        value, = exe.run(test, feed=batch, fetch_list=[batch_accuracy])
        accuracy.update(value, weight=len(batch["label"]))
    print(accuracy.eval())
"""

from fluidcore.metrics.accuracy import Accuracy
from fluidcore.metrics.auc import Auc
from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.binary import F1, Precision, Recall
from fluidcore.metrics.chunk_evaluator import ChunkEvaluator
from fluidcore.metrics.chunks import Chunk, ChunkCounts, chunks, count_chunks
from fluidcore.metrics.composite import CompositeMetric
from fluidcore.metrics.confusion_matrix import ConfusionMatrix
from fluidcore.metrics.edit_distance import EditDistance, edit_distance, edit_distances

__all__ = [
    "F1",
    "Accuracy",
    "Auc",
    "Chunk",
    "ChunkCounts",
    "ChunkEvaluator",
    "CompositeMetric",
    "ConfusionMatrix",
    "EditDistance",
    "MetricBase",
    "Precision",
    "Recall",
    "chunks",
    "count_chunks",
    "edit_distance",
    "edit_distances",
]

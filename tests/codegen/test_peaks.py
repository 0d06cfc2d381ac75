"""The most bytes of main memory that networks take at once: no more than they did."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest

import match
from match.devtools import zoo
from match.errors import CapacityError
from match.target.hardware import MatchTarget, ProgramSize
from match.target.registry import get_target

pytestmark = pytest.mark.cc

FOLDER = Path(__file__).parents[1] / "tflite/networks"

# Activations, inputs and outputs on diana, whose control core computes the networks (all but a few of their operators),
# and on gap9: what TVM's operators reserve for themselves counts there, and here tensors between layers.
# Kernels of diana's core, whose scratch counts too, do not take part.
PEAKS = {
    "activations.tflite": (18892, 1584),
    "ad01_int8.tflite": (83872, 2048),
    "anomaly_detection.onnx": (85792, 5888),
    "autoencoder.onnx": (88352, 5888),
    "autoencoder.tflite": (5008, 192),
    "convnext.tflite": (18490, 3092),
    "deeplab.tflite": (23292, 8712),
    "densenet.tflite": (116234, 14858),
    "ds_cnn.onnx": (142104, 18008),
    "eegnet.tflite": (25604, 1204),
    "efficientnet.tflite": (70090, 3150),
    "efficientnet_int16.tflite": (170004, 6164),
    "ghostnet.tflite": (45066, 3298),
    "grouped.tflite": (31690, 8650),
    "gru.tflite": (662, 662),
    "keyword_spotting.onnx": (96538, 16538),
    "keyword_spotting.tflite": (24502, 3757),
    "keyword_spotting_int16.tflite": (25004, 1196),
    "kws_ref_model.tflite": (96502, 16502),
    "lstm.tflite": (8292, 120),
    "lstm_unrolled.tflite": (852, 140),
    "many_inputs.tflite": (7055, 3087),
    "mixer.tflite": (3970, 1748),
    "mnasnet.tflite": (28426, 3132),
    "mobilenet_v1-0.25-128.onnx": (593824, 315296),
    "mobilenet_v1-0.25-96.onnx": (331784, 175112),
    "mobilenet_v1-1.0-128.onnx": (2428832, 593824),
    "mobilenet_v1.tflite": (27658, 9994),
    "mobilenet_v2-0.25-128.onnx": (1482920, 446368),
    "mobilenet_v2-0.35-96.onnx": (1396904, 262048),
    "mobilenet_v2-1.0-128.onnx": (2731936, 692128),
    "mobilenet_v2.tflite": (36874, 5898),
    "mobilenet_v2_int16.tflite": (44564, 6324),
    "mobilenet_v3.tflite": (21770, 3132),
    "more_activations.tflite": (18892, 1584),
    "pretrainedResnet_quant.tflite": (100378, 52234),
    "resnet.tflite": (9621, 3132),
    "resnet8.onnx": (109624, 61480),
    "resnet_int16.tflite": (16800, 6736),
    "shufflenet.tflite": (9621, 3132),
    "squeezenet.tflite": (9625, 3783),
    "super_resolution.tflite": (17920, 8704),
    "tcn.tflite": (7989, 1045),
    "unet.tflite": (42112, 30208),
    "unet_transposed.tflite": (32768, 28672),
    "unet_transposed_int16.tflite": (143360, 8192),
    "visual_wake_words.onnx": (248848, 92176),
    "vit.tflite": (4506, 1748),
    "vww_96_int8.tflite": (248834, 92162),
    "yolo.tflite": (15660, 7136),
}
QUICK = ("ds_cnn.onnx", "squeezenet.tflite", "unet.tflite", "visual_wake_words.onnx")


def unbounded(name: str, l1: int | None = None) -> MatchTarget:
    """A target whose main memory holds every network, with so many bytes of L1 in place of its own."""
    target = copy.copy(get_target(name, l1))
    target.main_memory = replace(target.main_memory, size=1 << 30)
    return target


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.sweep) for name in PEAKS]
)
def test_activations(name: str, models_dir: Path) -> None:
    stem = name.rpartition(".")[0]
    found = next((folder / name for folder in (FOLDER, models_dir) if (folder / name).is_file()), None)
    model = zoo.build(stem) if found is None else found
    for target, most in zip(("diana", "gap9"), PEAKS[name], strict=True):
        chip = unbounded(target)
        if target == "diana":
            chip.modules = tuple(module for module in chip.modules if module.memories)
        totals = match.compile(model, chip).report.totals
        assert totals.l2_peak_bytes - totals.constant_bytes <= most, target


def test_a_network_that_needs_nearly_all_of_main_memory_compiles(models_dir: Path) -> None:
    """On DIANA's control core, with the intermediate results of its depthwise convolutions, in 512 KiB."""
    compiled = match.compile(models_dir / "visual_wake_words.onnx", "diana", modules=["digital"])
    assert 490 * 1024 < compiled.report.totals.l2_peak_bytes <= 512 * 1024


def test_a_network_whose_chains_take_too_much_is_compiled_without_them() -> None:
    """A chain reads and writes at once what its operators, one by one, do not; groups are small in so little L1."""
    model = FOLDER / "mobilenet_v1.tflite"
    target = unbounded("gap9", 6000)
    target.external, target.program = None, ProgramSize(fixed=0, operator=0)
    target.modules = tuple(module for module in target.modules if module.memories)
    fused, single = (match.compile(model, target, fuse=fuse) for fuse in (True, False))
    least = single.report.totals.l2_peak_bytes
    assert least < fused.report.totals.l2_peak_bytes
    target.main_memory = replace(target.main_memory, size=least)
    compiled = match.compile(model, target)
    assert compiled.report.totals.l2_peak_bytes == least
    assert not any(layer.operators for layer in compiled.report.layers)
    target.main_memory = replace(target.main_memory, size=least - 8)
    with pytest.raises(CapacityError, match="so that 8 are short"):
        match.compile(model, target)

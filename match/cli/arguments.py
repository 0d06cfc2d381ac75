"""Arguments and options of the commands, with what `--help` says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from match.target.byte_sizes import bytes_of


def number_of_bytes(text: str) -> int:
    """The number of bytes in an option, see `bytes_of`."""
    size = bytes_of(text)
    if size is None:
        raise typer.BadParameter(f"{text!r} is not a positive number of bytes, such as 65536, 64k or 1M")
    return size


ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite or .onnx file, quantized to 8 bits.")]
ProjectPath = Annotated[Path, typer.Argument(metavar="DIR", help="A folder made by `match compile`.")]


def _targets(incomplete: str) -> list[str]:
    """Installed targets, for the shell."""
    from match.target.registry import target_names

    return [name for name in target_names() if name.startswith(incomplete.lower())]


TargetName = Annotated[
    str, typer.Option("--target", metavar="NAME", help="The chip; see `match targets`.", autocompletion=_targets)
]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="An installed target.", autocompletion=_targets)]
Operator = Annotated[
    str | None, typer.Argument(metavar="OPERATOR", help="One of them, such as conv2d.", show_default="all")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a page in Markdown.")]
ModelPaths = Annotated[
    list[Path], typer.Argument(metavar="MODEL...", help="One or several .tflite or .onnx files, quantized to 8 bits.")
]
Axes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=A,B",
        help="Values of what the target declares (dma.bytes=4,8) or of an option: l1=32k,64k, l2, "
        "modules=cluster,cluster+ne16, numerics, objective, at_most, engine, fuse, rescale, quantize_recurrent; may be "
        "given several times.",
        show_default="none",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask scheduler, such as tcp://10.0.0.1:8786, whose workers predict.",
        show_default="processes of this machine",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", min=1, help="Processes of this machine that predict.", show_default="one per processor"
    ),
]
SweepFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="S.json|S.csv|S.parquet",
        help="Write the points; may be given several times.",
        show_default="none",
    ),
]
SweepPages = Annotated[
    Path | None,
    typer.Option("--html", metavar="DIR", help="Write a picture of all points, and the reports of some as pages."),
]
ChosenPoints = Annotated[
    list[int] | None,
    typer.Option(
        "--point",
        metavar="N",
        min=0,
        help="A point whose report --html writes; may be given several times.",
        show_default="those that no other is better than",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", min=1, help="Processes that search and fit at a time.", show_default="one per processor"
    ),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Compile everything anew, and keep nothing for the next compilation; by default schedules are kept.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Folder for the C project.", show_default="build/ and the network's name"
    ),
]
ProjectPaths = Annotated[
    list[Path], typer.Argument(metavar="DIR...", help="Folders made by `match compile`, of networks for one target.")
]
BuildSystem = Annotated[str, typer.Option("--as", metavar="zephyr|arduino|cmsis", help="What builds the firmware.")]
ExportPath = Annotated[Path, typer.Option("-o", "--output", metavar="LIB", help="Folder for the library.")]
LibraryName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Of the library.", show_default="the networks' names")
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Also replace files in DIR that you have changed since they were written."),
]
InputFile = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="X.npz",
        help="Input tensors by name, one sample or a batch.",
        show_default="random, see --seed",
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", metavar="Y.npz", help="Write the output tensors here.", show_default="print them"),
]
NetworkName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The network to write.", show_default="list all")
]
NetworkFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="X.onnx", help="Write it here.", show_default="NAME.onnx")
]
RealNumbers = Annotated[bool, typer.Option("--float", help="In float, for `match quantize`.")]
Classes = Annotated[
    int | None, typer.Option("--classes", metavar="N", help="Number of classes.", show_default="the network's own")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random inputs.")]
TimelineFile = Annotated[
    Path | None,
    typer.Option(
        "--timeline", metavar="T.json|T.svg", help="Write the predicted timeline: for ui.perfetto.dev, or a picture."
    ),
]
MemoryMapFile = Annotated[
    Path | None,
    typer.Option("--memory-map", metavar="M.svg", help="Write a picture of what lies where and when in L1, L2 and L3."),
]
PrintAfter = Annotated[
    str | None,
    typer.Option(
        "--print-after", metavar="PASS", help="Print the network as it is after a pass, or after all of them."
    ),
]
HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="R.html", help="Write the report as a page, in one file that opens from disk."),
]
ComparisonFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="C.html", help="Write both side by side as a page, in one file."),
]
PageFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="R.html", help="Write it here.", show_default="report.html in DIR"),
]
ReportPath = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder made by `match compile`, or its report.json.")
]
TraceFile = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="T.json|T.svg", help="Write what layers did, in order: for ui.perfetto.dev, or a picture."
    ),
]
PlatformName = Annotated[
    str, typer.Option("--platform", metavar="NAME", help="What the program is for, one of the target's platforms.")
]
OwnPlatformName = Annotated[
    str | None,
    typer.Option(
        "--platform",
        metavar="NAME",
        help="What the library is for, one of the target's platforms.",
        show_default="the chip's own",
    ),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="host|qemu|rtl|gvsoc",
        help="What runs it: this machine, QEMU, one core's RTL under Verilator, or GVSoC, as far as the target has a "
        "platform for it.",
    ),
]
LogFile = Annotated[Path, typer.Argument(metavar="LOG", help="What the program on the chip printed.")]
Chip = Annotated[
    str, typer.Option("--on", metavar="NAME", help="What counted it; the report has one measurement by each name.")
]
CountUnit = Annotated[
    str, typer.Option("--unit", metavar="cycles|instructions", help="What the program's counter counts.")
]
FirstReport = Annotated[Path, typer.Argument(metavar="A", help="A folder made by `match compile`, or its report.json.")]
SecondReport = Annotated[Path, typer.Argument(metavar="B", help="Another, of any target, options or revision.")]
Against = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="MODEL",
        help="The model file that was compiled.",
        show_default="found by name and contents beside DIR or here",
    ),
]
LabelledInput = Annotated[
    Path | None,
    typer.Option(
        "--input",
        metavar="X.npz",
        help="Input tensors by name, one sample or a batch; `labels`: the class of each, for accuracies.",
        show_default="random, see --seed",
    ),
]
DrawnSamples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        min=1,
        help="Number of random inputs, or the first of --input; of a network with states the steps of a stream.",
        show_default="1, or all of --input",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        min=1,
        help="Number of random inputs, or the first of --input.",
        show_default="16, or all of --input",
    ),
]
ByLayers = Annotated[bool, typer.Option("--layers", help="Compare operator by operator, too.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors and warnings only.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Print what is under way, line by line, with the seconds so far.")
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="L.csv", help="Write a line for each layer, with what it costs.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")]
Sanitize = Annotated[
    bool, typer.Option("--sanitize", help="Build with the address and undefined-behaviour sanitizers.")
]
FloatModel = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A float .onnx file, as PyTorch or Keras writes it, or .tflite (by tf2onnx)."),
]
QuantizedFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="Q.onnx", help="Write it here.", show_default="MODEL's name and _int8.onnx"),
]
CalibrationData = Annotated[
    Path,
    typer.Option(
        "--data",
        metavar="X.npz|DIR",
        help="Samples to find the ranges of tensors with: arrays by the names of inputs, or a folder of .npy arrays or "
        "of images.",
    ),
]
TestData = Annotated[
    Path | None,
    typer.Option("--test", metavar="X.npz|DIR", help="Samples to measure with.", show_default="those of --data"),
]
LabelsOf = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="NAME|FILE",
        help="The class of each sample: an array of the .npz file, or an .npy, .npz or text file.",
        show_default="the array `labels`, if there is one",
    ),
]
CalibrationSamples = Annotated[
    int, typer.Option("--calibrate", metavar="N", min=1, help="The most samples to calibrate with, evenly spread.")
]
MeasuredSamples = Annotated[
    int, typer.Option("--samples", metavar="N", min=1, help="The most samples to measure with, evenly spread.")
]
PixelMean = Annotated[
    str,
    typer.Option("--mean", metavar="M|R,G,B", help="Taken off the pixels of images, which are from 0 to 1."),
]
PixelStd = Annotated[str, typer.Option("--std", metavar="S|R,G,B", help="What the pixels are divided by then.")]
LeaveOneOut = Annotated[
    bool, typer.Option("--leave-one-out", help="Measure what the outputs gain with each layer alone in floating point.")
]
WeightBits = Annotated[
    str,
    typer.Option(
        "--weight-bits",
        metavar="2..8|auto",
        help="Bits of the values of weights; auto: in each layer as few as make it faster within --loss.",
    ),
]
Loss = Annotated[
    float | None,
    typer.Option(
        "--loss",
        metavar="X",
        min=0,
        help="What --weight-bits auto may lose: a share of the samples that are right, without labels dB of SQNR.",
        show_default="0.01, or 3 dB",
    ),
]
SampleFile = Annotated[
    Path | None,
    typer.Option(
        "--save-samples", metavar="X.npz", help="Write the samples that it is measured with, for `match validate`."
    ),
]

"""Modules without a scratchpad: one kernel call for a layer, out of main memory, and what descriptions get wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import match
from match.devtools.check.description import description_problems
from match.errors import CapacityError, NoMappingError, TargetError
from match.ir.layer import Layer
from match.mapping.memory import Memory
from match.search.direct import direct_schedule
from match.search.problem import SearchProblem
from match.target.hardware import DirectApi, MatchTarget
from match.target.registry import get_target
from match.targets.cortex_m.module import CortexM
from match.targets.cortex_m.target import CortexM4
from match.targets.gap9.target import Gap9
from tests.tflite.convert import Writer

pytestmark = pytest.mark.cc

SHAPE = (1, 16, 16, 8)
TENSOR = 16 * 16 * 8

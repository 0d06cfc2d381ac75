from __future__ import annotations

import pytest

from match.codegen.tvm_source import clean

pytestmark = pytest.mark.unit

SOURCE = """// tvm target: c -keys=cpu
#define TVM_EXPORTS
#include "tvm/runtime/c_runtime_api.h"
#include <math.h>
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t net_add(uint8_t* p0, uint8_t* T_add, uint8_t* constants_1_var, uint8_t* workspace_2_var);
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t layer_0(int8_t*, int8_t*);
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL float expf(float);
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t net_add(uint8_t* p0, uint8_t* T_add, uint8_t* constants_1_var, uint8_t* workspace_2_var) {
  void* pad_let = (&(workspace_2_var[64]));
  for (int32_t i = 0; i < 4; ++i) {
    ((uint8_t*)pad_let)[i] = p0[i];
    T_add[i] = p0[i];
  }
  return 0;
}

#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t net___tvm_main__(uint8_t* x, uint8_t* y) {
  if (net_add(x, y, 0, 0) != 0 ) return -1;
  if (layer_0(x, y) != 0 ) return -1;
  return 0;
}

"""

CLEAN = """static int32_t net_add(uint8_t* p0, uint8_t* T_add, uint8_t* constants_1_var, uint8_t* workspace_2_var) {
  (void)constants_1_var;
  void* pad_let = (&(workspace_2_var[64]));
  for (int32_t i = 0; i < 4; ++i) {
    ((uint8_t*)pad_let)[i] = p0[i];
    T_add[i] = p0[i];
  }
  return 0;
}

static int32_t net___tvm_main__(uint8_t* x, uint8_t* y) {
  if (net_add(x, y, 0, 0) != 0 ) return -1;
  if (layer_0(x, y) != 0 ) return -1;
  return 0;
}
"""


def test_functions_without_headers_or_warnings() -> None:
    assert clean(SOURCE) == CLEAN

"""Networks with depthwise convolutions on GAP8, layer by layer and fused, beside a paper's figures and bounds."""

"""A learnable filter in the frequency domain: a circular convolution over the sequence, one kernel per feature."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FourierFilter(nn.Module):
    """rFFT over the sequence, times a learnable complex filter, and back; the sequence length is fixed."""

    def __init__(self, length: int, d_model: int, scale: float = 0.02) -> None:
        super().__init__()
        self.length = length
        self.response = nn.Parameter(torch.randn(length // 2 + 1, d_model, 2) * scale)  # last: real, imaginary

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, length, d_model) to the same; every place sees every place."""
        spectrum = torch.fft.rfft(inputs.float(), dim=1, norm="ortho")
        spectrum = spectrum * torch.view_as_complex(self.response)
        out: Tensor = torch.fft.irfft(spectrum, n=self.length, dim=1, norm="ortho")
        return out

    def kernel(self) -> Tensor:
        """The circular convolution kernel (length, d_model) that this filter is."""
        kernel: Tensor = torch.fft.irfft(torch.view_as_complex(self.response), n=self.length, dim=0)
        return kernel

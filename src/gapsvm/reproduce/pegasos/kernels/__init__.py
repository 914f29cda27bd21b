"""§7.2 and §7.3: Gaussian kernels."""

"""What the guarantees of Aggarwal et al. (2005) are worth: approximation ratios actually seen."""

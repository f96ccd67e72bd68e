"""What the steps of the job share."""

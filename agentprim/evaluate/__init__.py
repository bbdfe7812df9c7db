"""Evaluation: methods against tasks, paired, resumable, and every figure traceable."""

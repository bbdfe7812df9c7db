"""Agents: a system prompt that stays cached, and turns that stand behind what others hand over."""

from agentprim.agent.agent import Agent

__all__ = ["Agent"]

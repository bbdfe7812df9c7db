"""Agents: a system prompt that stays cached, and turns that stand behind what others hand over."""

from agentprim.agent.agent import Agent
from agentprim.agent.endpoint import RemoteError
from agentprim.agent.remote import RemoteAgent

__all__ = ["Agent", "RemoteAgent", "RemoteError"]

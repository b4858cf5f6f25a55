"""Who plays a task: planners over skills or actions, chat models, flat policies."""

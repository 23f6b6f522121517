"""Step times in closed form: ours, over columns of configurations, and the published one."""

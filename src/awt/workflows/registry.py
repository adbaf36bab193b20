"""The workflows by name: a new one is a package beside this file and a line here."""

WORKFLOWS = {"tickets": "awt.workflows.tickets.stages:WORKFLOW"}

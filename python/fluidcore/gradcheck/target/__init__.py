"""What can be checked: functions with their gradients, and how they are called."""

"""From what is recorded to what is sent: facts, marks, a schedule that applies them, laws that check the result."""

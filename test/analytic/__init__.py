"""Systems whose equations of motion are known in closed form, each as a model and its equations."""

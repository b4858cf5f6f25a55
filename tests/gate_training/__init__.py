"""How the shipped guards of screens, phones and texts are trained again; how a model is asked about frozen items."""

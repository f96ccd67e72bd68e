"""The dossier: one document with what those who must approve a release ask for."""

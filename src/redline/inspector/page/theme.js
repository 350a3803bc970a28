// The chosen colours, before anything is painted; without a choice the system's are taken.
document.documentElement.dataset.theme = localStorage.getItem("redline-theme") ?? "auto";

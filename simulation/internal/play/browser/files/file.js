// Browsers load no modules from a file, so this isn't one.
if (location.protocol === "file:") document.getElementById("verdict").textContent = "This page needs a web server: a browser can’t load it from a file.";

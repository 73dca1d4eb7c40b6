(function () {
  "use strict";
  var main = document.querySelector("main"), was = 0, when = 0, rate = "";
  function show() {
    var n = +document.getElementById("scored").dataset.scored, now = Date.now();
    if (when && now > when) {
      var r = Math.round(1000 * (n - was) / (now - when));
      rate = r > 0 || document.getElementById("behind") ? r.toLocaleString("en") + " a second" : "waiting for more";
    }
    was = n; when = now;
    document.getElementById("rate").textContent = rate;
  }
  function poll() {
    fetch("?body", { cache: "no-store" }).then(function (a) {
      if (!a.ok) { throw new Error(a.status); }
      return a.text();
    }).then(function (t) {
      main.innerHTML = t; // made by the same template as the page, every value escaped
      show();
    }).catch(function () {
      var s = document.getElementById("state");
      s.textContent = "no answer from the stage"; s.className = "state waits";
    }).then(function () { setTimeout(poll, document.hidden ? 5000 : 1000); });
  }
  show();
  setTimeout(poll, 1000);
})();

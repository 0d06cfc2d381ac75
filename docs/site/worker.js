// Search in a site that is opened from disk: browsers start no worker there, so a frame of the page takes its place.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => later(() => this.onmessage?.({ data: structuredClone(data) }));
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, location);
        script.onload = resolve;
        script.onerror = reject;
        inside.document.body.append(script);
      });
      this.ready.catch((error) => this.onerror?.(error));
    }
    postMessage(data) {
      const copy = structuredClone(data);
      this.ready.then(() => later(() => this.frame.contentWindow?.onmessage({ data: copy })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  const later = (call) => setTimeout(call);
}

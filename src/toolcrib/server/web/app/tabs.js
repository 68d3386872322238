// Other tabs of this browser with the same page: they hear when a conversation changed, and fetch it anew.

const channel = "BroadcastChannel" in window ? new BroadcastChannel("toolcrib") : null;

export const otherTabs = {
  tell: (sessionId) => channel?.postMessage({ sessionId }),
  hear(listener) {
    channel?.addEventListener("message", (message) => listener(message.data.sessionId));
  },
};

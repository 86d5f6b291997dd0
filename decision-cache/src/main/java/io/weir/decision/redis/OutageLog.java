// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs that a server is away, once an outage, and that it is back. One process has several links to
 * a server, and each tries again all the time for reasons that change: what the first one meets is
 * told, and that the last one has a connection again. Known by the server's address over the whole
 * process, since its links do not know each other. Safe for threads.
 */
final class OutageLog {
  private static final Logger LOG = LoggerFactory.getLogger(OutageLog.class);

  /** Outages by the server's address; also the lock. An entry is gone with its outage. */
  private static final Map<String, Outage> OUTAGES = new HashMap<>();

  private final String server;
  private boolean isClosed;

  /** Links that are without a connection, and why the server was not used although it answered. */
  private static final class Outage {
    private final Set<OutageLog> links = new HashSet<>();
    private final Set<String> refusals = new HashSet<>();
  }

  /**
   * The log of one link.
   *
   * @param server address without user and password
   */
  OutageLog(String server) {
    this.server = server;
  }

  /** The link has no connection, or could not make one. */
  void away(String why) {
    synchronized (OUTAGES) {
      if (isClosed) {
        return;
      }
      Outage outage = OUTAGES.computeIfAbsent(server, none -> new Outage());
      boolean isFirst = outage.links.isEmpty();
      outage.links.add(this);
      if (isFirst) {
        LOG.warn("redis_unavailable server={} reason=\"{}\"", server, why);
      } else {
        LOG.debug("redis_unavailable server={} reason=\"{}\"", server, why);
      }
    }
  }

  /** The link reached a server that must not be used: a person has to change it. */
  void refused(String why) {
    synchronized (OUTAGES) {
      if (isClosed) {
        return;
      }
      Outage outage = OUTAGES.computeIfAbsent(server, none -> new Outage());
      outage.links.add(this);
      if (outage.refusals.add(why)) {
        LOG.warn("redis_unavailable server={} reason=\"{}\"", server, why);
      }
    }
  }

  /** The link has a connection. */
  void back() {
    synchronized (OUTAGES) {
      Outage outage = OUTAGES.get(server);
      if (outage == null || !outage.links.remove(this)) {
        LOG.info("redis_connected server={}", server);
      } else if (outage.links.isEmpty()) {
        OUTAGES.remove(server);
        // who was told of the loss is told of its end
        LOG.warn("redis_available_again server={}", server);
      }
    }
  }

  /** The link is closed: whatever it was waiting for, it waits no more, and says nothing. */
  void close() {
    synchronized (OUTAGES) {
      isClosed = true;
      Outage outage = OUTAGES.get(server);
      if (outage != null && outage.links.remove(this) && outage.links.isEmpty()) {
        OUTAGES.remove(server);
      }
    }
  }
}

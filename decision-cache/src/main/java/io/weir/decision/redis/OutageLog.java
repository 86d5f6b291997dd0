// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs once per outage that a server is unavailable, and once that the server is available again. A
 * process has several links to a server. Each link retries continually, and each attempt can fail
 * for another reason. Three kinds of events are logged: the first failure of a link, each reason
 * not to use the server, and the end of the outage. An outage ends when every link is connected
 * again. Outages are stored in a static map by server address, because links share no state.
 * Thread-safe.
 */
final class OutageLog {
  private static final Logger LOG = LoggerFactory.getLogger(OutageLog.class);

  /**
   * Outages by server address. The map is also the lock. The entry of an outage is removed when the
   * outage ends.
   */
  private static final Map<String, Outage> OUTAGES = new HashMap<>();

  private final String server;
  private boolean isClosed;

  /**
   * The links without a connection, and the reasons why the server is not used although it replies.
   */
  private static final class Outage {
    private final Set<OutageLog> links = new HashSet<>();
    private final Set<String> refusals = new HashSet<>();
  }

  /**
   * Creates the log of one link.
   *
   * @param server address of the server, without user and password
   */
  OutageLog(String server) {
    this.server = server;
  }

  /** Records that the link has lost its connection, or could not connect. */
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

  /**
   * Records that the server replied, but must not be used until an operator changes its settings.
   */
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

  /** Records that the link has a connection. */
  void back() {
    synchronized (OUTAGES) {
      Outage outage = OUTAGES.get(server);
      if (outage == null || !outage.links.remove(this)) {
        LOG.info("redis_connected server={}", server);
      } else if (outage.links.isEmpty()) {
        OUTAGES.remove(server);
        // the same level as the begin of the outage: a log with the begin must also contain the end
        LOG.warn("redis_available_again server={}", server);
      }
    }
  }

  /**
   * Records that the link is closed. A closed link logs nothing more, and the end of the outage
   * does not wait for the link.
   */
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

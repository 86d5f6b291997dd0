// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.channels.SelectableChannel;
import java.time.Duration;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.NetworkConnectionLimit;

/**
 * The most connections that a server may have. At the limit no more connections are accepted, and
 * the idle timeout of open ones is shortened until there is room again.
 *
 * <p>Jetty by itself shortens it only for the connections that are open when the limit is reached.
 * In a burst many connections are still being opened at that moment and would keep the usual
 * timeout. It also iterates over all connections for each one that opens or closes at the limit.
 * Here each connection gets its timeout as it opens, and the usual timeout returns when a tenth of
 * the room is free. Thread-safe.
 */
final class ConnectionLimit extends NetworkConnectionLimit implements Connection.Listener {
  private static final double ROOMY = 0.9;

  private final AbstractConnector connector;
  private final long idleKeptAtTheLimitMillis;
  private volatile boolean crowded;

  ConnectionLimit(int maxConnections, Duration idleKeptAtTheLimit, AbstractConnector connector) {
    super(maxConnections, connector);
    this.connector = connector;
    this.idleKeptAtTheLimitMillis = idleKeptAtTheLimit.toMillis();
  }

  @Override
  protected void limit() {
    connector.setAccepting(false);
    if (!crowded) {
      setCrowded(true);
    }
  }

  @Override
  protected void unlimit() {
    connector.setAccepting(true);
  }

  /**
   * The connector already knows the connection at this point, so either this method or {@link
   * #limit} sees it.
   */
  @Override
  public void onOpened(Connection connection) {
    if (crowded) {
      connection.getEndPoint().setIdleTimeout(idleKeptAtTheLimitMillis);
    }
  }

  @Override
  public void onClosed(SelectableChannel channel) {
    super.onClosed(channel);
    if (crowded && isRoomy()) {
      setCrowded(false);
      if (!isRoomy()) {
        // a burst arrived in between, and its limit() may still have seen the earlier crowded state
        setCrowded(true);
      }
    }
  }

  private boolean isRoomy() {
    return getNetworkConnectionCount() < getMaxNetworkConnectionCount() * ROOMY;
  }

  private void setCrowded(boolean crowded) {
    this.crowded = crowded;
    long millis = crowded ? idleKeptAtTheLimitMillis : connector.getIdleTimeout();
    for (EndPoint each : connector.getConnectedEndPoints()) {
      each.setIdleTimeout(millis);
    }
  }
}

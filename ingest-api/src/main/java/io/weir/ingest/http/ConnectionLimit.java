// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.channels.SelectableChannel;
import java.time.Duration;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.NetworkConnectionLimit;

/**
 * The most connections a server may have. At the limit nothing more is accepted, and those that are
 * idle are kept for a shorter time until there is room again.
 *
 * <p>Jetty alone does so for the connections that are open when the limit is reached. Of a burst
 * many are still being opened then, and keep their place for the usual time. And it goes through
 * all connections for each one that comes or goes at the limit. Here each learns it as it opens,
 * and the usual time is back when a tenth of the room is free. Safe for threads.
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

  /** The connection is among the connector's by now, so either this or {@link #limit} sees it. */
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
        // a burst came in between, and its limit() may still have seen the crowd of before
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

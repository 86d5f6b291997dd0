// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.channels.SelectableChannel;
import java.time.Duration;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits the number of connections of a server. At the limit, the server accepts no more
 * connections. The server also reduces the idle timeout of open connections until the number of
 * connections is below the limit.
 *
 * <p>Jetty's own class reduces the timeout only for connections that are open when the limit is
 * reached. With that class, connections that are being opened when the limit is reached would keep
 * the usual timeout. At the limit, Jetty's class also iterates over all connections whenever a
 * connection opens or closes. This class instead sets the timeout of each connection when the
 * connection opens. This class restores the usual timeout when the number of connections has fallen
 * to 90 % of the limit. Thread-safe.
 */
public final class ConnectionLimit extends NetworkConnectionLimit implements Connection.Listener {
  /** Default of {@code WEIR_MAX_CONNECTIONS}. */
  public static final int DEFAULT_MAX_CONNECTIONS = 10_000;

  /** Maximum value of {@code WEIR_MAX_CONNECTIONS}. Each connection uses a file descriptor. */
  public static final int MOST_CONNECTIONS = 1_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);
  private static final double ROOMY = 0.9;

  /** Idle timeout of connections while the limit is reached. */
  private static final Duration IDLE_KEPT_AT_THE_LIMIT = Duration.ofSeconds(2);

  /**
   * A port may use the process's file descriptors divided by this number. The other descriptors are
   * for other ports and for files.
   */
  private static final int PORTS_AND_FILES = 3;

  private final AbstractConnector connector;
  private final long idleKeptAtTheLimitMillis;
  private volatile boolean crowded;

  /**
   * Creates a limit. The caller must add the limit to the connector as a bean.
   *
   * @param maxConnections maximum number of open connections, ≥ 1; reduced to a third of the
   *     process's limit of open files if the number is greater
   */
  public ConnectionLimit(int maxConnections, AbstractConnector connector) {
    super(withinOpenFiles(maxConnections, maxOpenFiles()), connector);
    this.connector = connector;
    this.idleKeptAtTheLimitMillis = IDLE_KEPT_AT_THE_LIMIT.toMillis();
  }

  /**
   * Returns the maximum number of connections of a port. The number leaves enough file descriptors
   * for files.
   */
  static int withinOpenFiles(int maxConnections, long maxOpenFiles) {
    long room = Math.max(1, maxOpenFiles / PORTS_AND_FILES);
    if (room >= maxConnections) {
      return maxConnections;
    }
    LOG.info(
        "connections_limited setting=WEIR_MAX_CONNECTIONS value={} limit={} open_files_limit={};"
            + " raise the limit of open files (ulimit -n), or lower the setting",
        maxConnections,
        room,
        maxOpenFiles);
    return (int) room;
  }

  private static long maxOpenFiles() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
        ? unix.getMaxFileDescriptorCount()
        : Long.MAX_VALUE;
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
   * {@inheritDoc}
   *
   * <p>The connector has already added the connection, so either this method or {@link #limit} sets
   * the connection's timeout.
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
        // connections may have opened meanwhile, and limit() may have read the previous state
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

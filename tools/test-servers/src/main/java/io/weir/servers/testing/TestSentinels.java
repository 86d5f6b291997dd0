// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.Ports;
import io.weir.servers.RedisServer;
import io.weir.testing.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Three real Redis Sentinels, which run as processes on free ports. The sentinels monitor a server
 * under the name {@value #NAME}. If two sentinels get no reply from the server for a second, they
 * promote a replica. Not thread-safe.
 */
public final class TestSentinels implements AutoCloseable {
  /** The name under which the sentinels monitor the server. */
  public static final String NAME = "weir";

  /** The sentinels' password. */
  public static final String PASSWORD = "guard@/#";

  private static final int COUNT = 3;

  private final Path folder = TempFolders.create("sentinels");
  private final List<RedisServer> sentinels = new ArrayList<>();

  private TestSentinels() {}

  /**
   * Starts sentinels that monitor a server, and waits until the sentinels know a replica of the
   * server.
   */
  public static TestSentinels watch(TestRedis primary) throws Exception {
    TestSentinels started = new TestSentinels();
    try {
      for (int i = 0; i < COUNT; i++) {
        started.startOne(i, URI.create(primary.uri()));
      }
    } catch (IOException failed) {
      started.close();
      throw new UncheckedIOException(failed);
    }
    Await.until("the sentinels to know each other and a replica", started::areReady);
    return started;
  }

  private void startOne(int number, URI primary) throws IOException {
    Path own = Files.createDirectory(folder.resolve(Integer.toString(number)));
    Path config =
        Files.writeString(
            own.resolve("sentinel.conf"),
            "sentinel monitor "
                + NAME
                + " "
                + primary.getHost()
                + " "
                + primary.getPort()
                + " 2\nsentinel down-after-milliseconds "
                + NAME
                + " 1000\nsentinel failover-timeout "
                + NAME
                + " 5000\nrequirepass \""
                + PASSWORD
                + "\"\n");
    sentinels.add(RedisServer.startSentinel(own, config, Ports.free()));
  }

  private boolean areReady() {
    for (RedisServer sentinel : sentinels) {
      String info = info(sentinel);
      if (!info.contains("status=ok")
          || !info.contains("slaves=1")
          || !info.contains("sentinels=" + COUNT)) {
        return false;
      }
    }
    return true;
  }

  private static String info(RedisServer sentinel) {
    try {
      return String.valueOf(
          RedisClient.authenticated(sentinel.port(), PASSWORD, "INFO", "sentinel"));
    } catch (IOException notYet) {
      return "";
    }
  }

  /** Returns the URI by which clients find the server through the sentinels. */
  public String uri() {
    List<String> servers = new ArrayList<>();
    for (RedisServer sentinel : sentinels) {
      servers.add("127.0.0.1:" + sentinel.port());
    }
    return "redis-sentinel://" + String.join(",", servers) + "#" + NAME;
  }

  @Override
  public void close() {
    sentinels.forEach(RedisServer::kill);
    TempFolders.delete(folder);
  }
}

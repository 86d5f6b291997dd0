// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.Ports;
import io.weir.servers.RedisServer;
import io.weir.testing.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A real Redis Cluster. Each server is a process on a free port. Each primary has an equal share of
 * the hash slots, and optionally a replica. Methods identify a server by its number: first the
 * primaries, then the replicas. Not thread-safe.
 */
public final class TestCluster implements AutoCloseable {
  private static final int SLOTS = 16_384;
  private static final int BUS = 10_000;

  /**
   * Time without a reply after which a server counts as failed. A failover takes slightly longer
   * than this time.
   */
  private static final String NODE_TIMEOUT_MILLIS = "2000";

  private final Path folder = TempFolders.create("redis-cluster");
  private final List<Member> members = new ArrayList<>();
  private final int primaries;

  /** A server and its start options. */
  private static final class Member {
    private final Path folder;
    private final String[] options;
    private RedisServer server;

    Member(Path folder, String... options) throws IOException {
      this.folder = folder;
      this.options = options;
      this.server = RedisServer.start(folder, portWithBus(), options);
    }

    /** Returns a free port. The cluster bus port for this port is also free. */
    private static int portWithBus() throws IOException {
      int port = Ports.free();
      while (!Ports.isFree(port + BUS)) {
        port = Ports.free();
      }
      return port;
    }
  }

  private TestCluster(int primaries) {
    this.primaries = primaries;
  }

  /**
   * Starts a cluster and waits until it serves requests.
   *
   * @param primaries number of primaries; a replica can replace a failed primary only if there are
   *     at least three primaries
   * @param replicated whether each primary has a replica; with replicas, the cluster also serves
   *     requests while a hash slot has no primary
   */
  public static TestCluster start(int primaries, boolean replicated) {
    TestCluster cluster = new TestCluster(primaries);
    try {
      cluster.build(replicated);
      return cluster;
    } catch (IOException failed) {
      cluster.close();
      throw new UncheckedIOException(failed);
    } catch (RuntimeException failed) {
      cluster.close();
      throw failed;
    }
  }

  private void build(boolean replicated) throws IOException {
    int count = replicated ? 2 * primaries : primaries;
    for (int i = 0; i < count; i++) {
      members.add(
          new Member(
              folder.resolve(Integer.toString(i)),
              "--cluster-enabled",
              "yes",
              "--cluster-node-timeout",
              NODE_TIMEOUT_MILLIS,
              "--cluster-allow-replica-migration",
              "no",
              "--cluster-require-full-coverage",
              replicated ? "no" : "yes"));
      command(i, "CLUSTER", "SET-CONFIG-EPOCH", Integer.toString(i + 1));
      if (i > 0) {
        command(0, "CLUSTER", "MEET", "127.0.0.1", port(i));
      }
    }
    for (int i = 0; i < primaries; i++) {
      List<String> addSlots = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
      for (int slot = firstSlot(i); slot < firstSlot(i + 1); slot++) {
        addSlots.add(Integer.toString(slot));
      }
      command(i, addSlots.toArray(String[]::new));
    }
    await(
        "all servers to know each other",
        i -> text(i, "CLUSTER", "INFO").contains("_nodes:" + count));
    for (int i = primaries; i < count; i++) {
      command(i, "CLUSTER", "REPLICATE", id(i - primaries));
    }
    awaitServing();
    await(
        "all replicas to follow their primaries",
        i -> i < primaries || text(i, "INFO", "replication").contains("master_link_status:up"));
  }

  private int firstSlot(int primary) {
    return SLOTS * primary / primaries;
  }

  /** Waits until every running server reports that the cluster serves requests. */
  public void awaitServing() {
    await(
        "the cluster to serve " + "requests",
        i -> text(i, "CLUSTER", "INFO").contains("cluster_state:ok"));
  }

  /** A condition on one server. */
  private interface Condition {
    boolean holds(int member);
  }

  private void await(String what, Condition condition) {
    try {
      Await.until(
          what,
          () -> {
            for (int i = 0; i < members.size(); i++) {
              if (isAlive(i) && !condition.holds(i)) {
                return false;
              }
            }
            return true;
          });
    } catch (Exception failed) {
      throw new IllegalStateException(what, failed);
    }
  }

  /**
   * Returns the URI of the cluster, {@code redis-cluster://host:port}, with the address of the
   * first server.
   */
  public String uri() {
    return "redis-cluster://127.0.0.1:" + port(0);
  }

  /** Returns the port of a server. */
  public String port(int member) {
    return Integer.toString(members.get(member).server.port());
  }

  /** Returns the id that a server has in the cluster. */
  public String id(int member) {
    return text(member, "CLUSTER", "MYID");
  }

  /** Returns whether the process of a server runs. */
  public boolean isAlive(int member) {
    return members.get(member).server.isAlive();
  }

  /** Returns whether a server reports that it is a primary. */
  public boolean isPrimary(int member) {
    return text(member, "INFO", "replication").contains("role:master");
  }

  /** Kills a server with SIGKILL. */
  public void kill(int member) {
    members.get(member).server.kill();
  }

  /** Restarts a killed server on the same port with the same data. */
  public void restart(int member) {
    Member killed = members.get(member);
    try {
      killed.server = RedisServer.start(killed.folder, killed.server.port(), killed.options);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Suspends a server's process with SIGSTOP. */
  public void pause(int member) {
    signal(member, "STOP");
  }

  /** Resumes a paused server. */
  public void resume(int member) {
    signal(member, "CONT");
  }

  private void signal(int member, String name) {
    TestRedis.signal(members.get(member).server.pid(), name);
  }

  /** Returns the number of the primary that, by its own report, serves a hash slot. */
  public int holder(int slot) {
    for (int i = 0; i < members.size(); i++) {
      if (isAlive(i) && isPrimary(i) && holds(i, slot)) {
        return i;
      }
    }
    throw new IllegalStateException("no server holds slot " + slot);
  }

  private boolean holds(int member, int slot) {
    for (String line : text(member, "CLUSTER", "NODES").split("\n", -1)) {
      String[] fields = line.split(" ", -1);
      if (fields.length < 8 || !fields[2].contains("myself")) {
        continue;
      }
      for (int i = 8; i < fields.length; i++) {
        String[] ends = fields[i].split("-", -1);
        if (!fields[i].startsWith("[")
            && Integer.parseInt(ends[0]) <= slot
            && slot <= Integer.parseInt(ends[ends.length - 1])) {
          return true;
        }
      }
    }
    return false;
  }

  /**
   * Begins to move a hash slot to another server. Until {@link #endMove}, each key of the slot is
   * on one of the two servers.
   */
  public void beginMove(int slot, int from, int to) {
    command(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "IMPORTING", id(from));
    command(from, "CLUSTER", "SETSLOT", Integer.toString(slot), "MIGRATING", id(to));
  }

  /** Moves keys of a slot after {@link #beginMove}, and returns the number of moved keys. */
  public int moveKeys(int slot, int from, int to, int atMost) {
    List<?> keys =
        (List<?>)
            Objects.requireNonNull(
                command(
                    from,
                    "CLUSTER",
                    "GETKEYSINSLOT",
                    Integer.toString(slot),
                    Integer.toString(atMost)));
    for (Object key : keys) {
      moveKey(String.valueOf(key), from, to);
    }
    return keys.size();
  }

  /** Moves one key of a slot after {@link #beginMove}. */
  public void moveKey(String key, int from, int to) {
    command(from, "MIGRATE", "127.0.0.1", port(to), key, "0", "5000");
  }

  /** Ends the move of a hash slot. The caller must have moved all keys of the slot. */
  public void endMove(int slot, int from, int to) {
    String holder = id(to);
    command(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "NODE", holder);
    command(from, "CLUSTER", "SETSLOT", Integer.toString(slot), "NODE", holder);
  }

  /** Moves a slot with its keys, as {@code redis-cli --cluster reshard} does. */
  public void move(int slot, int from, int to) {
    beginMove(slot, from, to);
    int moved;
    do {
      moved = moveKeys(slot, from, to, 10);
    } while (moved > 0);
    endMove(slot, from, to);
  }

  /**
   * Assigns a hash slot, but not its keys, to a server. Operators do this after the loss of a
   * server. Gives the server the highest configuration epoch, so that no message of the previous
   * owner can take the slot back.
   */
  public void assignWithoutKeys(int slot, int to) {
    command(to, "CLUSTER", "BUMPEPOCH");
    command(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "NODE", id(to));
  }

  /** Sends a command to a server. */
  public @Nullable Object command(int member, String... command) {
    try {
      return RedisClient.call(members.get(member).server.port(), command);
    } catch (IOException failed) {
      throw new UncheckedIOException(
          String.join(" ", command) + ": " + failed.getMessage(), failed);
    }
  }

  private String text(int member, String... command) {
    return String.valueOf(command(member, command));
  }

  @Override
  public void close() {
    for (Member member : members) {
      member.server.kill();
    }
    TempFolders.delete(folder);
  }
}

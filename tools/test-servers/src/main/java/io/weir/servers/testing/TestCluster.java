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
 * A real Redis Cluster of processes on free ports: primaries, each with an equal share of the
 * slots, and then a replica for each of them, if there are to be any. Servers are named by their
 * number. Not thread-safe.
 */
public final class TestCluster implements AutoCloseable {
  private static final int SLOTS = 16_384;
  private static final int BUS = 10_000;

  /** How long a server is missed until it counts as failed; a failover takes a little longer. */
  private static final String NODE_TIMEOUT_MILLIS = "2000";

  private final Path folder = TempFolders.create("redis-cluster");
  private final List<Member> members = new ArrayList<>();
  private final int primaries;

  /** A server and how it is started. */
  private static final class Member {
    private final Path folder;
    private final String[] options;
    private RedisServer server;

    Member(Path folder, String... options) throws IOException {
      this.folder = folder;
      this.options = options;
      this.server = RedisServer.start(folder, portWithBus(), options);
    }

    /** Returns a free port, of which the one for the servers among themselves is free, too. */
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
   * Starts a cluster and waits until it serves.
   *
   * @param primaries how many servers hold slots; three at least, if one is to be replaced
   * @param replicated whether each has a replica; then the others also serve while a slot has no
   *     holder
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
        "servers that know each other",
        i -> text(i, "CLUSTER", "INFO").contains("_nodes:" + count));
    for (int i = primaries; i < count; i++) {
      command(i, "CLUSTER", "REPLICATE", id(i - primaries));
    }
    awaitServing();
    await(
        "replicas that follow",
        i -> i < primaries || text(i, "INFO", "replication").contains("master_link_status:up"));
  }

  private int firstSlot(int primary) {
    return SLOTS * primary / primaries;
  }

  /** Waits until every server that runs says that the cluster serves. */
  public void awaitServing() {
    await("a cluster that serves", i -> text(i, "CLUSTER", "INFO").contains("cluster_state:ok"));
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

  /** Returns the address of the cluster, {@code redis-cluster://host:port}, of its first server. */
  public String uri() {
    return "redis-cluster://127.0.0.1:" + port(0);
  }

  /** Returns the port of a server. */
  public String port(int member) {
    return Integer.toString(members.get(member).server.port());
  }

  /** Returns the name of a server in the cluster. */
  public String id(int member) {
    return text(member, "CLUSTER", "MYID");
  }

  /** Returns whether a server runs. */
  public boolean isAlive(int member) {
    return members.get(member).server.isAlive();
  }

  /** Returns whether a server is a primary by its own account. */
  public boolean isPrimary(int member) {
    return text(member, "INFO", "replication").contains("role:master");
  }

  /** Kills a server with SIGKILL. */
  public void kill(int member) {
    members.get(member).server.kill();
  }

  /** Starts a killed server again on the same port, over the same data. */
  public void restart(int member) {
    Member killed = members.get(member);
    try {
      killed.server = RedisServer.start(killed.folder, killed.server.port(), killed.options);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Suspends a server's process, as SIGSTOP does. */
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

  /** Returns the number of the primary that holds a slot by its own account. */
  public int holder(int slot) {
    for (int i = 0; i < members.size(); i++) {
      if (isAlive(i) && isPrimary(i) && holds(i, slot)) {
        return i;
      }
    }
    throw new IllegalStateException("nobody holds slot " + slot);
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

  /** Begins to move a slot: until {@link #endMove} its keys lie on either of the two servers. */
  public void beginMove(int slot, int from, int to) {
    command(to, "CLUSTER", "SETSLOT", Integer.toString(slot), "IMPORTING", id(from));
    command(from, "CLUSTER", "SETSLOT", Integer.toString(slot), "MIGRATING", id(to));
  }

  /** Moves keys of a slot whose move was begun; returns how many there were. */
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

  /** Moves a key of a slot whose move was begun. */
  public void moveKey(String key, int from, int to) {
    command(from, "MIGRATE", "127.0.0.1", port(to), key, "0", "5000");
  }

  /** Ends a move of which all keys were moved. */
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
   * Assigns a slot to a server without its keys, as an operator does whose server is lost: by the
   * highest epoch, so that no message of the one that held it takes the slot back.
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

// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ServersIT {
  @TempDir Path folder;

  @Test
  void kafka_startedAgainOverTheSameFolder_keepsItsTopics() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder, 0);
        Admin admin = admin(kafka)) {
      admin.createTopics(List.of(new NewTopic("kept", 1, (short) 1))).all().get();
    }

    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder, 0);
        Admin admin = admin(kafka)) {
      assertEquals(Set.of("kept"), admin.listTopics().names().get());
    }
  }

  @Test
  void kafka_thatRequestsAnExit_failsInstead() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder, 0)) {
      assertEquals("", kafka.failure());

      assertThrows(IllegalStateException.class, () -> Exit.halt(1, "no room on the disk"));

      assertTrue(kafka.failure().contains("no room on the disk"), kafka.failure());
    }
  }

  @Test
  void redis_largeLog_isRotated() throws Exception {
    Path log = folder.resolve("redis.log");
    Files.write(log, new byte[11 << 20]);

    try (RedisServer redis = RedisServer.start(folder, 0)) {
      assertTrue(redis.isAlive());
      assertTrue(!Files.exists(log) || Files.size(log) < 1 << 20);
      assertEquals(11 << 20, Files.size(folder.resolve("redis.log.1")));
      redis.kill();
      Await.until("the end of the server", () -> !redis.isAlive());
    }
  }

  @Test
  void kafka_dataOfANewerOne_isRefusedAndNamesTheFolder() throws Exception {
    EmbeddedKafka.start(folder, 0).close();
    BootstrapDirectory bootstrap = new BootstrapDirectory(folder.toString());
    Files.delete(folder.resolve(BootstrapDirectory.BINARY_BOOTSTRAP_FILENAME));
    FeatureLevelRecord newer =
        new FeatureLevelRecord()
            .setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(Short.MAX_VALUE);
    bootstrap.writeBinaryFile(
        BootstrapMetadata.fromRecords(
            List.of(new ApiMessageAndVersion(newer, (short) 0)), "a newer Kafka"));

    ServerStartException refused =
        assertThrows(ServerStartException.class, () -> EmbeddedKafka.start(folder, 0));

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(folder.toString()), message);
    assertTrue(message.contains("newer version of Kafka"), message);
  }

  @Test
  void kafka_portTaken_namesThePortAndTheVariable() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServerStartException refused =
          assertThrows(
              ServerStartException.class, () -> EmbeddedKafka.start(folder, taken.getLocalPort()));

      assertTrue(String.valueOf(refused.getMessage()).contains("WEIR_KAFKA_PORT"));
      assertTrue(
          String.valueOf(refused.getMessage()).contains(Integer.toString(taken.getLocalPort())));
    }
  }

  @Test
  void dataFolder_openedTwice_isRefusedAndNamesTheFolder() throws Exception {
    try (DataFolder held = DataFolder.open(folder)) {
      ServerStartException refused =
          assertThrows(ServerStartException.class, () -> DataFolder.open(folder));

      assertTrue(String.valueOf(refused.getMessage()).contains(held.path().toString()));
    }

    DataFolder.open(folder).close();
  }

  @Test
  void dataFolder_openToOthers_isClosedToThem() throws Exception {
    Path data = Files.createDirectory(folder.resolve("data"));
    Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwxr-xr-x"));

    DataFolder.open(data).close();

    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(data)));
  }

  @Test
  void redis_lockedDown_refusesOthersToChangeItsConfiguration() throws Exception {
    try (RedisServer redis = RedisServer.startLockedDown(folder, 0, null)) {
      assertEquals("+OK", answer(redis, "SET k v"));
      assertEquals("*2", answer(redis, "CONFIG GET maxmemory-policy"));
      assertEquals("+OK", answer(redis, "FLUSHALL"));
      for (String command :
          List.of(
              "CONFIG SET dir /tmp",
              "CONFIG REWRITE",
              "ACL SETUSER default +@all",
              "MODULE LOAD /tmp/x.so",
              "REPLICAOF 127.0.0.1 1",
              "DEBUG SLEEP 0",
              "SHUTDOWN")) {
        assertTrue(answer(redis, command).startsWith("-NOPERM"), command);
      }
      assertTrue(redis.isAlive());
    }
  }

  private static String answer(RedisServer redis, String command) throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), redis.port())) {
      socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
      BufferedReader reader =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      return String.valueOf(reader.readLine());
    }
  }

  @Test
  void redis_closedAndStartedAgain_listensOnTheSamePort() throws Exception {
    int port;
    try (RedisServer redis = RedisServer.start(folder, 0)) {
      port = redis.port();
    }

    try (RedisServer redis = RedisServer.start(folder, port)) {
      assertEquals(port, redis.port());
      assertTrue(ProcessHandle.of(redis.pid()).isPresent());
    }
  }

  @Test
  void redis_withoutOneOnPath_runsTheBundledBinary() throws Exception {
    System.setProperty("weir.redis.path", "");
    try (RedisServer redis = RedisServer.start(folder, 0)) {
      assertTrue(Files.isExecutable(folder.resolve("redis-server")));
      assertTrue(ProcessHandle.of(redis.pid()).isPresent());
    } finally {
      System.clearProperty("weir.redis.path");
    }
  }

  @Test
  void redis_ownerKilled_endsToo() throws Exception {
    Process owner =
        new ProcessBuilder(ChildJvm.command("128m", RedisOwner.class, folder.toString()))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String pid = owner.inputReader(StandardCharsets.UTF_8).readLine();
    ProcessHandle redis = ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
    assertTrue(redis.isAlive());

    owner.destroyForcibly().waitFor();

    Await.until("the end of the server", () -> !redis.isAlive());
  }

  private static Admin admin(EmbeddedKafka kafka) {
    return Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  /** A process that starts a redis-server, says its id, and waits to be killed. */
  static final class RedisOwner {
    private RedisOwner() {}

    public static void main(String[] arguments) throws Exception {
      RedisServer server = RedisServer.start(Path.of(arguments[0]), 0);
      System.out.println(server.pid());
      System.out.flush();
      Thread.currentThread().join();
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.topics.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RunningUpTest {
  @TempDir private Path data;

  private Optional<String> kafka() {
    return RunningUp.kafka(Settings.of(Map.of("WEIR_DATA", data.toString())))
        .map(found -> found.bootstrapServers());
  }

  @Test
  void announced_isFoundUntilItIsClosed() throws Exception {
    RunningUp up = RunningUp.announce(data, "127.0.0.1:9092", Map.of("a.b", "c"));
    assertEquals(Optional.of("127.0.0.1:9092"), kafka());
    up.close();
    assertTrue(kafka().isEmpty());
  }

  /** Regression: another user could put the file into a shared folder and so choose the Kafka. */
  @Test
  void fileOfAnotherUser_isIgnored() throws Exception {
    assumeTrue(System.getProperty("user.name").equals("root"), "only root may give a file away");
    RunningUp up = RunningUp.announce(data, "127.0.0.1:9092", Map.of());
    Files.setOwner(
        data.resolve("up.properties"),
        data.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody"));
    assertTrue(kafka().isEmpty());
    up.close();
  }
}

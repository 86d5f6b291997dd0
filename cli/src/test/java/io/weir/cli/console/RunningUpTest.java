// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.topics.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
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

  /** Regression: a user without a name, as in a container, has "?" as name, and found nothing. */
  @Test
  void fileOfThisUser_whoHasNoName_isFound() throws Exception {
    String name = System.getProperty("user.name");
    System.setProperty("user.name", "?");
    try (RunningUp up = RunningUp.announce(data, "127.0.0.1:9092", Map.of())) {
      assertTrue(kafka().isPresent(), up::toString);
    } finally {
      System.setProperty("user.name", name);
    }
  }

  /** Regression: the command waited for the writer of a pipe, who could replace it meanwhile. */
  @Test
  void fileThatIsAPipe_isIgnored_notOpened() throws Exception {
    Path pipe = data.resolve("up.properties");
    assumeTrue(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor() == 0, "no mkfifo");
    assertTimeoutPreemptively(Duration.ofMinutes(1), () -> assertTrue(kafka().isEmpty()));
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

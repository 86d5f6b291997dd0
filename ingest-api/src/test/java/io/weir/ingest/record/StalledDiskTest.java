// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;

/**
 * A disk that stalls keeps no other thread from its work (issue 12, item 17): in a JVM with a
 * single carrier of virtual threads, one of them writes into a journal that stands still, and
 * another one, as that which asks the decision cache, goes on.
 */
@EnabledForJreRange(minVersion = 21, disabledReason = "calls are on platform threads before")
final class StalledDiskTest {
  @TempDir private Path folder;

  @Test
  void journalStandsStill_otherVirtualThreadsGoOn() throws Exception {
    Path pipe = folder.resolve("pipe");
    assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
    List<String> command =
        ChildJvm.command(
            "64m",
            List.of(
                "-Djdk.virtualThreadScheduler.parallelism=1",
                "-Djdk.virtualThreadScheduler.maxPoolSize=1"));
    command.addAll(List.of(StalledDiskChild.class.getName(), pipe.toString()));

    Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      boolean ended = child.waitFor(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      assertEquals(true, ended, "the other thread has not run");
      String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(StalledDiskChild.WENT_ON, output.strip());
    } finally {
      child.destroyForcibly();
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process ends when it is asked, and when a part of it is dead, whatever hangs. */
final class StopIT {
  @TempDir private Path folder;

  private Process start(String failure) throws Exception {
    Process process =
        new ProcessBuilder(ChildJvm.command("64m", Hanging.class, failure))
            .redirectError(folder.resolve("errors").toFile())
            .start();
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("ready", output.readLine());
    return process;
  }

  @Test
  void asked_closingHangs_endsAtTheLimitAndSaysWhere() throws Exception {
    Process process = start("");

    process.destroy();

    assertTrue(process.waitFor(Await.PATIENCE.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
    String errors = Files.readString(folder.resolve("errors"));
    assertTrue(errors.contains("did not stop within PT2S"), errors);
    assertTrue(errors.contains("Hanging"), errors);
  }

  @Test
  void partDead_closingHangs_endsByItselfAndSaysWhich() throws Exception {
    Process process = start("Kafka has stopped: no room");

    assertTrue(process.waitFor(Await.PATIENCE.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
    String errors = Files.readString(folder.resolve("errors"));
    assertTrue(errors.contains("the process ends: Kafka has stopped: no room"), errors);
  }

  /** A process whose resource cannot be closed. */
  static final class Hanging {
    private Hanging() {}

    public static void main(String[] arguments) throws Exception {
      AutoCloseable hanging = () -> new CountDownLatch(1).await();
      System.exit(Stop.awaitAndClose(hanging, () -> failure(arguments[0]), Duration.ofSeconds(2)));
    }

    /** Asked when the process can be asked to end. */
    private static String failure(String failure) {
      System.out.println("ready");
      System.out.flush();
      return failure;
    }
  }
}

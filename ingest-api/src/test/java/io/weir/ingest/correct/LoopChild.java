// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.limits.correction.CorrectionOutcome.Kind;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.LockSupport;

/** The process that {@link CorrectionLoopIT} kills: applies corrections and prints how many. */
final class LoopChild {
  private LoopChild() {}

  /** Arguments: bootstrap servers, name of the node. */
  public static void main(String[] args) {
    PrintStream out =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    FakeCorrector corrector = new FakeCorrector();
    try (LoopNode node = new LoopNode(args[1], args[0], corrector)) {
      long told = -1;
      while (!out.checkError()) {
        long applied = (long) node.statistics.outcomes(Kind.CREATED).count();
        if (applied != told) {
          told = applied;
          out.println("applied " + applied);
        }
        LockSupport.parkNanos(20_000_000);
      }
    }
  }
}

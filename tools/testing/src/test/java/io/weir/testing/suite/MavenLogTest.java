// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class MavenLogTest {
  private final List<String> heard = new ArrayList<>();
  private final MavenLog log =
      new MavenLog(
          new MavenLog.Listener() {
            @Override
            public void moduleBegan(String module) {
              heard.add("began " + module);
            }

            @Override
            public void classEnded(String className, int tests) {
              heard.add(className + " " + tests);
            }

            @Override
            public void moduleTested(String module) {
              heard.add("tested " + module);
            }

            @Override
            public void moduleEnded(String module, String status) {
              heard.add(module + " " + status);
            }
          });

  @Test
  void line_ofEveryKindThatMatters_isRecognised() {
    log.line("[INFO] Building weir: decision-cache 0.1.0-SNAPSHOT              [4/11]");
    log.line("[INFO] Running io.weir.limits.TokenBucketTest");
    log.line(
        "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.06 s -- in"
            + " io.weir.limits.TokenBucketTest");
    log.line(
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 1,200.5 s <<<"
            + " FAILURE! -- in io.weir.decision.redis.PeerBugsIT");
    log.line("[INFO] Tests run: 11, Failures: 1, Errors: 0, Skipped: 0");
    log.line("[INFO] --- maven-failsafe-plugin:3.6.1:verify (default) @ decision-cache ---");
    log.line("[INFO] --- failsafe:3.6.1:verify (default) @ topics ---");
    log.line("[INFO] weir: topics ................................ SUCCESS [  3.2 s]");
    log.line("[INFO] weir: decision-cache ........................ FAILURE [ 13.2 s]");
    log.line("[INFO] weir: e2e ................................... SKIPPED");

    assertEquals(
        List.of(
            "began decision-cache",
            "io.weir.limits.TokenBucketTest 9",
            "io.weir.decision.redis.PeerBugsIT 2",
            "tested decision-cache",
            "tested topics",
            "topics SUCCESS",
            "decision-cache FAILURE",
            "e2e SKIPPED"),
        heard);
  }

  @Test
  void errors_areKeptUpToMavensAdvice() {
    log.line("[ERROR] COMPILATION ERROR : ");
    log.line("[ERROR] /a/B.java:[1,2] ';' expected");
    log.line("[ERROR] ");
    log.line("[ERROR] To see the full stack trace of the errors, re-run Maven with -e.");
    log.line("[ERROR] For more information, please read the following articles:");

    assertEquals(List.of("COMPILATION ERROR :", "/a/B.java:[1,2] ';' expected"), log.errors());
  }
}

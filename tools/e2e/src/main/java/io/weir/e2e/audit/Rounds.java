// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import io.weir.e2e.audit.Callers.Round;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * A deployment under load, round by round. Each round has one disturbance and its own clients. The
 * audit at the end covers all rounds. Not thread-safe.
 */
public final class Rounds implements AutoCloseable {
  /**
   * Number of calls that Weir must answer after a fault before the round ends. These answers prove
   * that Weir works again.
   */
  private static final int CALLS_AFTER_FAULT = 300;

  private final Deployment deployment;
  private final Progress progress;
  private final Instant begun = Instant.now();
  private final List<Round> rounds = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private final Callers callers;
  private final ReportReader reader;

  /** Receives the result of each round. */
  public interface Progress {
    void begins(int round, String name);

    /**
     * Called when a round has ended.
     *
     * @param answered number of calls with a verdict
     * @param failed number of calls without a verdict
     * @param notes further remarks
     */
    void ended(int round, String name, long answered, long failed, List<String> notes);
  }

  /** A disturbance. The method returns when the disturbance has ended. */
  public interface Disturbance {
    /**
     * Runs the disturbance under load.
     *
     * @param truth the responses that callers receive during the disturbance
     */
    void happen(Truth truth) throws Exception;
  }

  private Rounds(Deployment deployment, int callsPerSecond, Progress progress) {
    this.deployment = deployment;
    this.progress = progress;
    Round undisturbed = next("undisturbed", deployment.checkUrls());
    this.callers = new Callers(undisturbed, deployment.token(), callsPerSecond);
    this.reader = new ReportReader(deployment.reportsUrls(), deployment.token(), callers::round);
  }

  /**
   * Starts the callers with the undisturbed round 0, and waits until the deployment answers calls.
   */
  public static Rounds begin(Deployment deployment, int callsPerSecond, Progress progress) {
    Rounds rounds = new Rounds(deployment, callsPerSecond, progress);
    try {
      rounds.callers.start();
      rounds.reader.start();
      rounds.inWords(() -> rounds.awaitAnswered(CALLS_AFTER_FAULT));
      return rounds;
    } catch (Throwable failed) {
      rounds.close();
      throw failed;
    }
  }

  /**
   * Runs a round.
   *
   * @param checkUrls addresses to which the callers of this round send calls
   * @return the responses that the callers of the round received
   * @throws IllegalStateException if the disturbance failed, or if Weir does not answer calls after
   *     the disturbance; the message names the round
   */
  public Truth disturb(String name, List<String> checkUrls, Disturbance disturbance) {
    Round round = next(name, checkUrls);
    Truth truth = round.truth();
    callers.begin(round);
    progress.begins(round.number(), name);
    inWords(
        () -> {
          awaitAnswered(1);
          disturbance.happen(truth);
          return awaitAnswered(truth.answered() + CALLS_AFTER_FAULT);
        });
    progress.ended(round.number(), name, truth.answered(), truth.failedCount(), truth.notes());
    return truth;
  }

  /**
   * Stops the callers, waits until the aggregators have counted all calls, and audits all rounds.
   */
  public Outcome audit() {
    return inWords(
        () -> {
          callers.stop();
          reader.stop();
          progress.begins(rounds.size(), "audit");
          List<Truth> truths = rounds.stream().map(Round::truth).toList();
          return new Outcome(names, new Audit(deployment).run(truths, begun));
        });
  }

  private Round next(String name, List<String> checkUrls) {
    Round round = Round.begin(rounds.size(), checkUrls);
    rounds.add(round);
    names.add(name);
    return round;
  }

  private Round last() {
    return rounds.get(rounds.size() - 1);
  }

  private <T> T inWords(Callable<T> work) {
    try {
      return work.call();
    } catch (Exception failed) {
      int number = last().number();
      String where = number + " (" + names.get(number) + last().truth().notes() + ")";
      throw new IllegalStateException("round " + where + ": " + failed, failed);
    }
  }

  /** Waits until Weir has answered {@code goal} calls of the last round. */
  private boolean awaitAnswered(long goal) throws Exception {
    Truth truth = last().truth();
    for (long before = truth.answered(); before < goal; before = truth.answered()) {
      long seen = before;
      Expect.that(
          "another answer after " + seen,
          () -> {
            deployment.assertStands();
            return truth.answered() > seen;
          });
    }
    return true;
  }

  @Override
  public void close() {
    callers.close();
    reader.close();
  }
}

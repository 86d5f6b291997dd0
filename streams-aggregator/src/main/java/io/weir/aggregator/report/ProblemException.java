// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;

/** Thrown when a request is refused. The server sends the problem document as the response. */
final class ProblemException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Problem problem;

  ProblemException(Problem problem) {
    super(problem.detail());
    this.problem = problem;
  }

  ProblemException(ProblemReason reason, String detail) {
    this(Problem.of(reason, detail));
  }

  Problem problem() {
    return problem;
  }
}

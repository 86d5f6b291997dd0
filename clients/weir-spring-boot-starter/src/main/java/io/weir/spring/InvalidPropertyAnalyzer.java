// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Failure analyzer that reports a missing or wrong property in one sentence instead of a stack
 * trace.
 */
final class InvalidPropertyAnalyzer extends AbstractFailureAnalyzer<InvalidPropertyException> {
  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, InvalidPropertyException cause) {
    return new FailureAnalysis(
        cause.getMessage(),
        "Set the property in the application's configuration, or disable Weir with"
            + " weir.enabled=false.",
        cause);
  }
}

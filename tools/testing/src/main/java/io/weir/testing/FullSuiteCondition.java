// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips tests marked with {@link FullSuite}, unless the form of the run includes their turn. */
final class FullSuiteCondition implements ExecutionCondition {
  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Optional<FullSuite> mark =
        context.getElement().map(element -> element.getAnnotation(FullSuite.class));
    if (mark.isEmpty()) {
      return ConditionEvaluationResult.enabled("always runs");
    }
    return SuiteForm.current().includes(mark.get().turn())
        ? ConditionEvaluationResult.enabled("in " + SuiteForm.current())
        : ConditionEvaluationResult.disabled(
            "turn " + mark.get().turn() + " of --all: " + mark.get().reason());
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips tests marked with {@link FullSuite} in a short run. */
final class FullSuiteCondition implements ExecutionCondition {
  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Optional<FullSuite> mark =
        context.getElement().map(element -> element.getAnnotation(FullSuite.class));
    if (mark.isEmpty()) {
      return ConditionEvaluationResult.enabled("always runs");
    }
    return SuiteForm.isAll()
        ? ConditionEvaluationResult.enabled("in the whole suite")
        : ConditionEvaluationResult.disabled(mark.get().reason());
  }
}

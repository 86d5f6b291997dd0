// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.weir.spring.WeirStatistics.Outcome;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of the counter {@code weir.requests}, if the application has Micrometer. */
@AutoConfiguration(after = WeirAutoConfiguration.class)
@ConditionalOnClass(MeterBinder.class)
@ConditionalOnBean(WeirStatistics.class)
public final class WeirMetricsAutoConfiguration {
  /** Creates the binder that registers the counter with one tag per outcome. */
  @Bean
  public MeterBinder weirMetrics(WeirStatistics statistics) {
    return registry -> {
      for (Outcome outcome : Outcome.values()) {
        FunctionCounter.builder("weir.requests", statistics, it -> it.count(outcome))
            .description("requests by the outcome of their check")
            .tag("outcome", outcome.tag())
            .register(registry);
      }
    };
  }
}

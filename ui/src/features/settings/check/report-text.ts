/* A report of the checks as text, for an issue or a colleague. Pure. */
import type { DoctorReport, Finding } from "$lib/bindings";
import { CHECK } from "$lib/text/help/check";

export function findingText(finding: Finding): string {
  const line = `${CHECK.grades[finding.grade].toLowerCase().padEnd(6)} ${finding.area}: ${finding.message}`;
  return finding.cure === null ? line : `${line}\n       → ${finding.cure}`;
}

export function reportText(report: DoctorReport, version: string): string {
  return [`Taskwarden ${version}`, ...report.findings.map(findingText)].join("\n");
}

const ORDER: Readonly<Record<Finding["grade"], number>> = { broken: 0, note: 1, fine: 2 };

/** Trouble first; within a grade the order of the checks. */
export function byGrade(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((one, other) => ORDER[one.grade] - ORDER[other.grade]);
}
